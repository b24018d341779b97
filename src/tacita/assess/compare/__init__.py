"""Which release is best? Makes several in simulation, assesses them alike, and says what it would choose and why.

Everything here works on exact rows and with repeatable noise: what comes out is for the owner of the data.
"""
