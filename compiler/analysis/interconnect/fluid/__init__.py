"""
Congestion in a fabric of switches: bytes as a fluid, in steps of time.

    fabric.py      a two-level Clos fabric: hosts, leaf and spine switches, their ports and buffers
    routes.py      the ports that flows cross: ECMP by hash, by destination, or named one by one
    queues.py      first in, first out at every output port, and bytes on the wires
    pauses.py      priority flow control (PFC): who is paused, and rings of paused ports
    law.py         what a law of congestion control sees and sets
    laws/          one file a law: PFC alone, DCQCN, DCTCP, TIMELY, HPCC
    traffic.py     what is sent: flows with a start and a size, collectives step by step
    engine.py      the steps, and what was measured

Every state is an array over flows and the hops of their routes, so that a step costs about the same for one flow and
for a thousand. Bytes are neither made nor lost: what was sent is delivered, queued or on a wire.
"""
