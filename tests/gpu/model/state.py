"""The registers of many warps, which all execute the same kernel. Each register is one array for all lanes of
all warps, so one NumPy operation executes an instruction for all of them."""

import numpy

LANES = 32
REGISTERS, UNIFORM_REGISTERS, PREDICATES, BARRIERS = 256, 64, 8, 16
ZERO, UNIFORM_ZERO, TRUE = 255, 63, 7  # RZ, URZ, PT
LAUNCH_WORDS = 1024                    # of the constant bank of a launch


class State:
    """`blocks` are the numbers of the blocks to which the warps belong, a block's warps one after another."""

    def __init__(self, blocks, threads):
        of_block = -(-threads // LANES)
        self.warps_of_block = of_block
        self.count = len(blocks) * of_block
        self.block_of = numpy.repeat(numpy.arange(len(blocks)), of_block)
        shape = (self.count, LANES)
        self.registers = numpy.zeros((REGISTERS, *shape), numpy.uint32)
        self.uniform = numpy.zeros((UNIFORM_REGISTERS + 1, self.count, 1), numpy.uint32)
        self.predicates = numpy.zeros((PREDICATES, *shape), bool)
        self.uniform_predicates = numpy.zeros((PREDICATES, self.count, 1), bool)
        self.predicates[TRUE] = self.uniform_predicates[TRUE] = True
        self.voted = numpy.zeros((self.count, 1), bool)  # what the block's last vote at a barrier found
        self.barriers = numpy.zeros((BARRIERS, *shape), bool)
        warp = numpy.arange(self.count) % of_block
        self.lane = numpy.broadcast_to(numpy.arange(LANES, dtype=numpy.uint32), shape)
        self.thread = (warp[:, None] * LANES + numpy.arange(LANES)).astype(numpy.uint32)
        self.block = numpy.repeat(numpy.asarray(blocks, numpy.uint32), of_block)[:, None]
        self.alive = self.thread < threads
        self.nowhere = {kind: numpy.zeros(size, dtype) for kind, size, dtype in
                        [("R", shape, numpy.uint32), ("UR", (self.count, 1), numpy.uint32), ("P", shape, bool), ("UP", (self.count, 1), bool)]}
        self.active = self.alive.copy()  # lanes of the warps that execute now

    def of_first_lane(self, values, mask):
        """Returns a value of each warp: that of the first lane of the mask."""
        lanes = numpy.broadcast_to(self.active if mask is True else mask, self.active.shape)
        return numpy.broadcast_to(values, lanes.shape)[numpy.arange(self.count), lanes.argmax(1)][:, None]

    def warps_of(self, mask):
        """Returns the warps that have a lane in the mask."""
        return True if mask is True else numpy.broadcast_to(mask, self.active.shape).any(1)[:, None]
