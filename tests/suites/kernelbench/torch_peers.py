"""The problems of level 1 with PyTorch, which the baselines `torch` and `onednn` measure. Each function has the name and the
parameters of one in peers.py, followed by `_torch`. Code of our own; see ../README.md."""

import torch
from torch.nn import functional as nn


# Products.

def matmul_torch(a, b):
    return a @ b


def matmul_ta_torch(a, b):
    return a.T @ b


def matmul_tb_torch(a, b):
    return a @ b.T


def matmul_tt_torch(a, b):
    return a.T @ b.T


def batched_torch(a, b):
    return a @ b


def matrix_by_vector_torch(a, x):
    return a @ x


def diagonal_torch(a, b):
    return a[:, None] * b


def upper_torch(a, b):
    return torch.triu(a @ b)


def lower_torch(a, b):
    return torch.tril(a @ b)


# Single elements.

def times_torch(x, s):
    return x * s


def relu_torch(x):
    return torch.relu(x)


def leaky_relu_torch(x, slope):
    return nn.leaky_relu(x, float(slope))


def sigmoid_torch(x):
    return torch.sigmoid(x)


def tanh_torch(x):
    return torch.tanh(x)


def swish_torch(x):
    return nn.silu(x)


def gelu_torch(x):
    return nn.gelu(x)


def selu_torch(x):
    return torch.selu(x)


def hard_sigmoid_torch(x):
    return nn.hardsigmoid(x)


def softplus_torch(x):
    return nn.softplus(x)


def softsign_torch(x):
    return nn.softsign(x)


def elu_torch(x, alpha):
    return nn.elu(x, float(alpha))


def hard_tanh_torch(x):
    return nn.hardtanh(x)


def gelu_tanh_torch(x):
    return nn.gelu(x, approximate="tanh")


# Rows.

def softmax_torch(x):
    return torch.softmax(x, 1)


def log_softmax_torch(x):
    return torch.log_softmax(x, 1)


def normalize_torch(x):
    return nn.layer_norm(x, [int(n) for n in x.shape[1:]])


def batch_norm_torch(x):
    return nn.batch_norm(x, None, None, training=True)


def rms_norm_torch(x):
    return x / torch.sqrt((x * x).mean(1, keepdim=True) + 1e-5)


def frobenius_torch(x):
    return x / torch.linalg.vector_norm(x)


def l1_norm_torch(x):
    return x / x.abs().mean(1, keepdim=True)


def l2_norm_torch(x):
    return x / torch.linalg.vector_norm(x, dim=1, keepdim=True)


def sums_torch(x):
    return x.sum(1)


def means_torch(x):
    return x.mean(1)


def maxima_torch(x):
    return x.amax(1)


def minima_torch(x):
    return x.amin(1)


def places_of_maxima_torch(x):
    return x.argmax(1)


def places_of_minima_torch(x):
    return x.argmin(1)


def cumsum_torch(x):
    return x.cumsum(1)


def cumprod_torch(x):
    return x.cumprod(1)


def cumsum_reverse_torch(x):
    return x.flip(1).cumsum(1).flip(1)


def cumsum_exclusive_torch(x):
    return nn.pad(x[:, :-1].cumsum(1), (1, 0))


def masked_cumsum_torch(x, mask):
    return (x * mask).cumsum(1)


# Pooling.

def max_pool_1d_torch(x, K, P, D):
    return nn.max_pool1d(x, K, 1, P, D)


def max_pool_2d_torch(x, K, P):
    return nn.max_pool2d(x, K, 1, P)


def max_pool_3d_torch(x, K, S, P, D):
    return nn.max_pool3d(x, K, S, P, D)


def mean_pool_1d_torch(x, K, P):
    return nn.avg_pool1d(x, K, 1, P)


def mean_pool_2d_torch(x, K):
    return nn.avg_pool2d(x, K)


def mean_pool_3d_torch(x, K, S, P):
    return nn.avg_pool3d(x, K, S, P)


# Losses.

def mean_square_torch(x, t):
    return nn.mse_loss(x, t).reshape(1)


def cross_entropy_torch(x, t):
    return nn.cross_entropy(x, t.long()).reshape(1)


def huber_torch(x, t):
    return nn.smooth_l1_loss(x, t).reshape(1)


def divergence_torch(x, t):
    return nn.kl_div(x.log(), t, reduction="batchmean").reshape(1)


def triplet_torch(a, p, n):
    return nn.triplet_margin_loss(a, p, n).reshape(1)


def hinge_torch(x, t):
    return torch.clamp(1 - x * t, min=0).mean().reshape(1)


# Convolutions.

def conv_1d_torch(x, w, S, D):
    return nn.conv1d(x, w, stride=S, dilation=D)


def conv_2d_torch(x, w, S, PH, PW, DH, DW):
    return nn.conv2d(x, w, stride=S, padding=(PH, PW), dilation=(DH, DW))


def conv_3d_torch(x, w):
    return nn.conv3d(x, w)


def depthwise_torch(x, w, P):
    return nn.conv2d(x, w[:, None], padding=P, groups=x.shape[1])


def pointwise_torch(x, w):
    return nn.conv1d(x, w[:, :, None])


def separable_torch(x, w, v):
    return nn.conv2d(nn.conv2d(x, w[:, None], padding=1, groups=x.shape[1]), v[:, :, None, None])


# Attention.

def attention_torch(q, k, v, scale):
    return nn.scaled_dot_product_attention(q, k, v, scale=float(scale))


# Transposed convolutions.

def transpose_convolve(function, x, w, stride, padding, dilation, added):
    groups, outputs = w.shape[0], w.shape[2]
    y = function(x.flatten(1, 2), w.flatten(0, 1), stride=stride, padding=padding, dilation=dilation, output_padding=added, groups=groups)
    return y.reshape(x.shape[0], groups, outputs, *y.shape[2:])


def transposed_2d_torch(x, w, P0, P1, D0, D1):
    return transpose_convolve(nn.conv_transpose2d, x, w, 1, (P0, P1), (D0, D1), 0)


def strided_2d_torch(x, w, S0, S1, P0, P1, D0, D1):
    return transpose_convolve(nn.conv_transpose2d, x, w, (S0, S1), (P0, P1), (D0, D1), 0)


def transposed_3d_torch(x, w):
    return transpose_convolve(nn.conv_transpose3d, x, w, 1, 0, 1, 0)


def strided_3d_torch(x, w, S, P0, P1, P2, D, A):
    return transpose_convolve(nn.conv_transpose3d, x, w, S, (P0, P1, P2), D, A)
