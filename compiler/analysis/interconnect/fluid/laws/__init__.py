"""
The laws of congestion control by name: one per file.

    pfc      none: flows send at the rate of their link unless a switch pauses them
    dcqcn    rate, by marked packets
    dctcp    window, by the part of packets that are marked
    timely   rate, by the round trip and its gradient
    hpcc     window and rate, by the use of the busiest link as switches report it
"""
