/* What the kernels of an image take whose cores are teams of workers, between code generator and device: OpenCL C 1.2 for kind
 * "opencl", PTX for kind "cuda".
 *
 * The payload is the text. The kernel function of a variant is named by its symbol; its work-groups, CUDA's blocks, are the cores
 * of a launch, each of the size that it demands. Its arguments, of which OpenCL's are memory and CUDA's addresses, but for the
 * first, which CUDA's kernels take by value:
 *   __global const long* launch   the numbers of a launch, 8 bytes each: the cores of the launch; which part between barriers of
 *                                 the launch this call runs, from 0; the number of its first core; bytes in front of what it
 *                                 wants of `shared`; the sizes (kdl_args.dims);
 *                                 then each parameter in order, of a tensor kdl_workgroup_tensor numbers (elements from the
 *                                 argument's first byte to the tensor's first element; the strides), of a scalar its slot
 *   __global uchar* memory        kdl_variant.scratch_bytes of each core of the call, or, with KDL_VARIANT_SYNC, of the launch, one
 *                                 after the other, aligned to 64
 *   __global uchar* shared        kdl_launch.shared
 *   __global long* record         kdl_workgroup_record numbers, 0 at first: a trap's code, location, index and bound; with
 *                                 KDL_VARIANT_SYNC the last part's number, so far; the trap's core, and its worker there
 *   __global long* prints         the next free number, at first kdl_workgroup_first_print, and how many there are, then what has
 *                                 been printed: the numbers that it takes, its location, the core, how many values; of each its
 *                                 element kind, its rank, its sizes, its elements. What finds no room only counts as taken:
 *                                 zeros stay there, and nothing follows
 *                                 Where the kernel has no location of a print: any memory
 *   __global uchar* …             each tensor's memory
 *
 * A text of PTX's has for some kernels `NAME_launch`, global numbers of 8 bytes that say what each launch of NAME brings:
 *   the bytes of near memory (shared memory, of CUDA's launches), for which the kernel has asked with no text of its own;
 *   how many maps it takes, behind its other arguments, by value, 128 bytes each; and of each five numbers: of the kernel's
 *   tensors the number, its dimension of the box's rows, how many those are, elements of a row (a panel of the box), bytes of
 *   the swizzle; last kdl_variant.scratch_bytes, for those who launch the text without its image. Behind the launch's other
 *   numbers stands for each map whether it is one: memory that is not aligned has none */
#pragma once

enum kdl_workgroup_numbers {
  kdl_workgroup_header = 4,      /* numbers before the sizes */
  kdl_workgroup_tensor = 9,      /* numbers of a tensor */
  kdl_workgroup_record = 7,      /* numbers of the record */
  kdl_workgroup_first_print = 2, /* where the first print stands */
  kdl_workgroup_print = 4        /* numbers of a print before its values */
};
