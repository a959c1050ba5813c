"""Lanes of a warp that are at different instructions. One part of them executes; the others are `pending`, after a
branch that was not taken first, or `waiting` for all lanes of a scope."""

import numpy

ALL_LANES = "all"
DONE = 3  # the state of a warp without lanes


class Divergence:
    """The part of Warps that chooses which lanes of a warp execute."""

    def converge(self, group, after, barrier, condition):
        """Lanes wait for all lanes of a scope."""
        wanted = (self.alive if barrier == ALL_LANES else self.state.barriers[barrier] & self.alive)[group]
        complete = ~(wanted & ~self.current[group]).any(1)
        self.at[group[complete]] = after
        for warp in group[~complete].tolist():
            self.waiting[warp].append((barrier, self.current[warp].copy(), after))
            self.current[warp] = False
            if not self.reconverge(warp):
                self.switch(warp)

    def reconverge(self, warp):
        """Lets lanes go on together if all lanes that they wait for have come."""
        for barrier in {each[0] for each in self.waiting[warp]}:
            together = numpy.zeros_like(self.alive[warp])
            for each, lanes, after in self.waiting[warp]:
                if each == barrier:
                    together |= lanes
                    at = after
            wanted = self.alive[warp] if barrier == ALL_LANES else self.state.barriers[barrier][warp] & self.alive[warp]
            if not (wanted & ~together).any():
                self.waiting[warp] = [each for each in self.waiting[warp] if each[0] != barrier]
                self.current[warp], self.at[warp] = together & self.alive[warp], at
                return bool(self.current[warp].any())
        return False

    def switch(self, warp):
        """Goes on with other lanes of a warp."""
        if self.reconverge(warp):
            return
        if self.pending[warp]:
            at, lanes = self.pending[warp].pop()
            self.at[warp], self.current[warp] = at, lanes & self.alive[warp]
            if not self.current[warp].any():
                self.switch(warp)
        elif self.waiting[warp]:
            raise RuntimeError(f"lanes of warp {warp} wait for each other")
        else:
            self.status[warp] = DONE
            block = int(self.state.block_of[warp])
            for name in [name for name in self.named if name[0] == block]:
                self.open(name, None)
