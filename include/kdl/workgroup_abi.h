/* The arguments of kernels whose cores are workgroups of threads, as agreed between code generator and device:
 * OpenCL C 1.2 for kind "opencl", PTX for kind "cuda".
 *
 * The payload of an image is program text: OpenCL C, packed, or PTX. After PTX, there may be a zero, and then machine
 * code for the image's architecture: a cubin with the same kernels. The symbol of a variant is the name of its kernel
 * function. Each of its workgroups (CUDA: thread blocks) is one core of a launch and has the size that the
 * kernel requires. The arguments are memory objects in OpenCL and addresses in CUDA, except that CUDA kernels
 * receive the first one by value:
 *   __global const long* launch  The numbers of a launch, 8 bytes each: the cores of the launch; which part
 *                                between barriers of the launch this call runs, from 0; the number of its
 *                                first core; the offset of its memory in `shared`, in bytes; the sizes
 *                                (kdl_args.dims); then each parameter in order. A tensor has kdl_workgroup_tensor
 *                                numbers (elements from the argument's first byte to the tensor's first
 *                                element; the strides), a scalar has one number.
 *   __global uchar* memory       kdl_variant.scratch_bytes for each core of the call or, with
 *                                KDL_VARIANT_SYNC, of the launch, one after another, aligned to 64.
 *   __global uchar* shared       kdl_launch.shared.
 *   __global long* record        kdl_workgroup_record numbers, initially 0: a trap's code, location, index and
 *                                bound; with KDL_VARIANT_SYNC the number of the last part so far; the trap's
 *                                core, and the thread in that core.
 *   __global long* prints        The next free number (initially kdl_workgroup_first_print) and the capacity, then
 *                                the prints. Each print has: how many numbers it occupies, its location, the
 *                                core, the count of values; then for each value its element kind, rank, sizes
 *                                and elements. A print that does not fit still advances the next free number:
 *                                it leaves zeros, and nothing follows. If the kernel prints nothing, this may
 *                                be any memory.
 *   __global uchar* …            Each tensor's memory.
 *
 * For some kernels NAME, the PTX contains a global array `NAME_launch` of 8-byte numbers, which says what a
 * launch of the kernel must provide:
 *   - the bytes of dynamic shared memory;
 *   - the number of tensor maps that the kernel receives after its other arguments, by value, 128 bytes each;
 *   - five numbers for each map: the index of the tensor among the kernel's tensors, the dimension of the tensor
 *     that the rows of a tensor tile follow, the number of rows, the elements of a row (a panel of the tile),
 *     the bytes of the swizzle;
 *   - kdl_variant.scratch_bytes, for callers that launch the text without its image;
 *   - until the end, for launches that need more dynamic shared memory: how many bytes; the number of conditions;
 *     three numbers for each condition: the index of a size, its least and its largest value. If several of these
 *     apply to a launch, it needs the largest one.
 * After the launch's other numbers there is one number for each map, which says whether the map is valid.
 * There are no maps for unaligned memory. */
#pragma once

enum kdl_workgroup_numbers {
  kdl_workgroup_header = 4,      /* numbers before the sizes */
  kdl_workgroup_tensor = 9,      /* numbers for each tensor */
  kdl_workgroup_record = 7,      /* numbers in the record */
  kdl_workgroup_first_print = 2, /* position of the first print */
  kdl_workgroup_print = 4        /* numbers in a print before its values */
};
