// A hand-written f32 matmul for clang, which compile_time.py uses as the baseline for compile time. It
// computes row-major c[m, n] = a[m, k] * b[k, n], with operands in packed panels and blocks of 14 x 32 in 28
// registers.
typedef float Vector __attribute__((vector_size(64)));
typedef Vector Unaligned __attribute__((aligned(4)));
typedef long Size;

namespace {

constexpr Size kLanes = 16;
constexpr Size kRows = 14;
constexpr Size kColumns = 2 * kLanes;
constexpr Size kBlockM = 24 * kRows;
constexpr Size kBlockN = 16 * kColumns;
constexpr Size kBlockK = 256;

Size Min(Size a, Size b) { return a < b ? a : b; }

// Packs panels of kRows rows, column by column; missing rows are filled with zeros.
void PackA(float* to, const float* a, Size stride, Size rows, Size depth) {
  for (Size i = 0; i < rows; i += kRows) {
    const Size count = Min(kRows, rows - i);
    for (Size p = 0; p < depth; ++p) {
      for (Size r = 0; r < count; ++r) to[r] = a[(i + r) * stride + p];
      for (Size r = count; r < kRows; ++r) to[r] = 0;
      to += kRows;
    }
  }
}

// Packs panels of kColumns columns, row by row; missing columns are filled with zeros.
void PackB(float* to, const float* b, Size stride, Size depth, Size columns) {
  for (Size j = 0; j < columns; j += kColumns) {
    const Size count = Min(kColumns, columns - j);
    for (Size p = 0; p < depth; ++p) {
      const float* row = b + p * stride + j;
      if (count == kColumns) {
        *reinterpret_cast<Vector*>(to) = *reinterpret_cast<const Unaligned*>(row);
        *reinterpret_cast<Vector*>(to + kLanes) = *reinterpret_cast<const Unaligned*>(row + kLanes);
      } else {
        for (Size c = 0; c < count; ++c) to[c] = row[c];
        for (Size c = count; c < kColumns; ++c) to[c] = 0;
      }
      to += kColumns;
    }
  }
}

struct Sums {
  Vector left[kRows];
  Vector right[kRows];
};

// Multiplies two panels and keeps all sums in registers.
Sums Multiply(const float* a, const float* b, Size depth) {
  Sums sums = {};
  for (Size p = 0; p < depth; ++p) {
    const Vector left = *reinterpret_cast<const Vector*>(b);
    const Vector right = *reinterpret_cast<const Vector*>(b + kLanes);
#pragma clang loop unroll(full)
    for (Size r = 0; r < kRows; ++r) {
      sums.left[r] += left * a[r];
      sums.right[r] += right * a[r];
    }
    a += kRows;
    b += kColumns;
  }
  return sums;
}

void AddRow(float* c, Vector left, Vector right, Size columns, bool first) {
  if (columns == kColumns) {
    Unaligned* to = reinterpret_cast<Unaligned*>(c);
    to[0] = first ? left : to[0] + left;
    to[1] = first ? right : to[1] + right;
    return;
  }
  for (Size j = 0; j < columns; ++j) {
    const float value = j < kLanes ? left[j] : right[j - kLanes];
    c[j] = first ? value : c[j] + value;
  }
}

// Computes a block of c from packed operands.
void MultiplyBlock(float* c, Size stride, const float* a, const float* b, Size rows, Size columns,
                   Size depth, bool first) {
  for (Size j = 0; j < columns; j += kColumns) {
    for (Size i = 0; i < rows; i += kRows) {
      const Sums sums = Multiply(a + i * depth, b + j * depth, depth);
#pragma clang loop unroll(full)
      for (Size r = 0; r < kRows; ++r) {
        if (i + r < rows) {
          AddRow(c + (i + r) * stride + j, sums.left[r], sums.right[r], Min(kColumns, columns - j),
                 first);
        }
      }
    }
  }
}

}  // namespace

// Returns the number of floats that `scratch` must have room for. `scratch` must be aligned to 64 bytes.
extern "C" Size MatmulScratch() { return (kBlockM + kBlockN) * kBlockK; }

extern "C" void Matmul(float* c, const float* a, const float* b, Size m, Size n, Size k,
                       float* scratch) {
  float* packed_b = scratch;
  float* packed_a = scratch + kBlockN * kBlockK;
  for (Size j = 0; j < n; j += kBlockN) {
    const Size columns = Min(kBlockN, n - j);
    for (Size p = 0; p < k; p += kBlockK) {
      const Size depth = Min(kBlockK, k - p);
      PackB(packed_b, b + p * n + j, n, depth, columns);
      for (Size i = 0; i < m; i += kBlockM) {
        const Size rows = Min(kBlockM, m - i);
        PackA(packed_a, a + i * k + p, k, rows, depth);
        MultiplyBlock(c + i * n + j, n, packed_a, packed_b, rows, columns, depth, p == 0);
      }
    }
  }
}
