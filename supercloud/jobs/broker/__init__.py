"""The broker: one optional process beside the same store. It places the jobs that were given to a fleet.

``decide`` says what should happen (pure), ``room`` what is free, ``turns`` whose turn it is, ``ledger`` writes each
step down before it is taken, ``serve`` is the loop. Killed anywhere, the next one goes on; two at a time do no harm.
"""
