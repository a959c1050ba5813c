#pragma once

#include <array>
#include <string_view>

// Source texts that use the whole language. The parser's tests read them whole, modified and truncated.
namespace kdl::syntax {

inline constexpr std::string_view kMatmul = R"kdl(
/// c = a * b for any M, N, K.
export kernel matmul<T: f16 | bf16 | f32, BM: int = auto, BN: int = auto, BK: int = auto>(
    a: in T[M, K], b: in T[K, N], c: out T[M, N])
{
    spmd for i in M by BM, j in N by BN {          // blocks of the M x N space, dealt to the cores of the launch
        var acc: f32[i, j] = 0;                    // a tile: its dimensions are the ranges i and j
        for k in K by BK {
            acc += dot(a[i, k], b[k, j] over k);   // contraction over the named range
        }
        c[i, j] = acc as T;                        // edge blocks are clipped: only valid elements are written
    }
}
ensures { c[i, j] ~ sum(a[i, k] * b[k, j] over k); }
)kdl";

inline constexpr std::string_view kSoftmax = R"kdl(
export kernel softmax<BR: int = auto, BC: int = auto>(x: in f32[R, C], y: out f32[R, C]) {
    spmd for r in R by BR {
        var m: f32[r] = -inf;
        var s: f32[r] = 0;
        for c in C by BC {                          // online: C may be longer than any tile
            let t = x[r, c];
            let m2 = max(m, max(t over c));
            let z = if m2 == -inf then 0.0 else m2; // a block of -inf only
            s = s * exp(m - z) + sum(exp(t - z) over c);
            m = m2;
        }
        for c in C by BC { y[r, c] = exp(x[r, c] - m) / s; }
    }
}
ensures {
    top[r] = max(x[r, c] over c);
    y[r, c] ~ exp(x[r, c] - top[r]) / sum(exp(x[r, q] - top[r]) over q);
}
)kdl";

inline constexpr std::string_view kAttention = R"kdl(
export kernel attention<T: f16 | bf16 | f32, D: int, BM: int = auto, BN: int = auto>(
    q: in T[B, H, L, D], k: in T[B, H, S, D], v: in T[B, H, S, D], o: out T[B, H, L, D], scale: f32)
{
    range d in D;                                   // whole static dimensions
    range e in D;
    spmd for b in 0..B, h in 0..H, i in L by BM {   // b, h are scalars; i is a range
        let qi = q[b, h, i, d];
        var m: f32[i] = -inf;
        var l: f32[i] = 0;
        var acc: f32[i, e] = 0;
        for j in S by BN {
            let s = scale * dot(qi, k[b, h, j, d] over d);
            let m2 = max(m, max(s over j));
            let p = exp(s - m2);
            let f = exp(m - m2);
            l = l * f + sum(p over j);
            acc = acc * f + dot(p as T, v[b, h, j, e] over j);
            m = m2;
        }
        o[b, h, i, e] = (acc / l) as T;
    }
}
ensures {
    s[b, h, i, j] = scale * sum(q[b, h, i, d] * k[b, h, j, d] over d);
    p[b, h, i, j] = exp(s[b, h, i, j] - max(s[b, h, i, t] over t));
    o[b, h, i, e] ~ sum(p[b, h, i, j] * v[b, h, j, e] over j) / sum(p[b, h, i, j] over j);
}
)kdl";

inline constexpr std::string_view kConv2d = R"kdl(
export kernel conv2d<S: int, P: int, KH: int, KW: int, BO: int = auto, BH: int = auto, BW: int = auto>(
    x: in f32[N, C, H, W], w: in f32[O, C, KH, KW], y: out f32[N, O, OH, OW])
    where OH == (H + 2*P - KH)/S + 1, OW == (W + 2*P - KW)/S + 1
{
    range r in KH;
    range s in KW;
    spmd for n in 0..N, o in O by BO, i in OH by BH, j in OW by BW {
        var acc: f32[o, i, j] = 0;
        for c in C by 16 {
            acc += dot(w[o, c, r, s], x[n, c, S*i + r - P, S*j + s - P else 0] over c, r, s);
        }
        y[n, o, i, j] = acc;
    }
}
ensures { y[n, o, i, j] ~ sum(w[o, c, r, s] * x[n, c, S*i + r - P, S*j + s - P else 0] over c, r, s); }
)kdl";

inline constexpr std::string_view kMatmulResidual = R"kdl(
export kernel matmul_residual<BM: int = auto, BN: int = auto, BK: int = auto>(
    a: in bf16[M, K], b: in bf16[K, N], res: in f32[M, N], c: out f32[M, N])
{
    domain blocks = (M by BM, N by BN);
    pipe q: f32[BM, BN] @depth(2);

    stage cube {
        spmd for i, j in blocks {
            var acc: f32[i, j] = 0;
            for k in K by BK { acc += dot(a[i, k], b[k, j] over k); }
            q.push(acc, i, j);
        }
    }
    stage vector {
        spmd for i, j in blocks { c[i, j] = q.pop(i, j) + res[i, j]; }
    }
}
ensures { c[i, j] ~ sum(a[i, k] * b[k, j] over k) + res[i, j]; }
)kdl";

inline constexpr std::string_view kHostSide = R"kdl(
device cpu = target("host");
device npu = select(target("cuda", arch = "sm_90"), target("cluster-riscv64"), fallback(cpu));
device dsp;                                          // a promise: the command line or the caller supplies it

export program mlp(x: in f32[M, K], w1: in f32[K, H] on npu, w2: in f32[H, N] on npu, y: out f32[M, N]) {
    let h: f32[M, H] on npu;                         // lives from here to its last use
    spmd(core_num = 8) on npu matmul(x, w1, h);      // x is moved to npu: the transfer is printed with its cause
    spmd(core_num = cores(npu)) on npu.queue(1) matmul(h, w2, y);
    fuse {                                           // one launch
        spmd relu(y, h);
        spmd on npu matmul(h, w2, y);
    }
}

test "matmul edges" {
    for s in [(1, 1, 1), (127, 129, 65), (300, 200, 70)] {
        let a = random(f32[s.0, s.2], seed = 1);
        let b = random(f32[s.2, s.1], seed = 2);
        let c: f32[s.0, s.1];
        spmd(core_num = 3) matmul(a, b, c);
        expect c[i, j] ~ sum(a[i, k] * b[k, j] over k);
    }
}
)kdl";

// The parts of the language that the programs above do not use.
inline constexpr std::string_view kTheRest = R"kdl(
import std.nn;
import by;

const N: i32 = 0x1F_FF;
const LIMIT = -1_000;

/// Adds two pairs.
///
/// Twice.
fn add(a: (f32, i64), b: (f32, i64)) -> (f32, i64) {
    if a.0 > b.0 { return (a.0, a.1); } else if a.1 == b.1 { return b; } else { }
    return (a.0 + b.0, a.1);
}
fn drain(q: pop f32[E0, E1], r: push f32[E0, E1]) {
    let t = q.pop(i, j);
    r.push(t, i, j);
}

kernel all<T: f32 | f64, BM: int in {32, 64, 128} = auto, BN: int = 2 * 8>(
    x: in T[M, N], ids: in i64[M], h: inout i32[B], y: out T[M, N] on npu, s: f32)
    where M == 2 * N, N <= 64 @team(2, 1)
{
    range c in N max 8192;
    view v: f32[M, 2, K] = x;
    let part: f32[ceil_div(N, BN), 4];
    spmd for i in M by BM, k in 0..N step 2 @dynamic @order(grouped = 8) {
        var n: i32 = 0;
        while n < 3 && !(n == 2) { n += 1; if n > 1 { continue; } break; }
        for kk in i by 16 { print("tile", x[kk, 0]); }
        atomic h[ids[i]] += 1;
        atomic h[0] max= n where n > 0;
        y[i, c] = x[i, c else -1.5e-3] where c.start + iota(c) < s as i64;
        reduce y[0, 0] max= max(x[i, c] over i, c);
        let p = cumsum(x[i, c] over c reversed exclusive);
        let q = scan(p over c with nn.plus init (0.0, 0));
        let w = row_max<j = c>(x)[j = c] as f32 as bf16;
        let z = if n == 0 then -inf else if n == 1 then nan else 1.0;
        { acc[i = r] = row; }
        static_assert(BM % 2 == 0, "an even \"BM\"");
        assert(1 << 2 >> 1 & 3 ^ 4 | 5 != 6 || true);
    }
    sync;
    if core_id == 0 { nn.fill<V = 1>(y); }
    return;
}
requires { 0 <= ids[e] && ids[e] < M; }
ensures { y[i, c] ~(rtol = 1e-3, atol = 0.5) old(y)[i, c] * 2.0; g = 1; x[i, i] ~ (x[i, i]); }

kernel ranks(x: in f32[A.., 2 * C, by..]?, y: out f32[A..]? on npu, z: f32[]) {
    spmd for a in A.. by B, b in by.. by by, c in 0..by by by { if !x { y[a] = 0; } else if x && z { } }
    spmd k(none, if x then x else y);
}

program p(x: inout f32[M]) {
    let own: f32[M, N] on grid by (M: 64, _) = 0;
    swap(x, x);
    copy(x to cpu, x);
    spmd k(x);
    spmd(core_num = auto) on npu.queues(0, 2) nn.k<BM = N / 2>(x to npu);
    device.test(view);
}
device gpu = target("cuda")[1];
)kdl";

inline constexpr std::array kCorpus = {kMatmul,         kSoftmax,  kAttention, kConv2d,
                                       kMatmulResidual, kHostSide, kTheRest};

}  // namespace kdl::syntax
