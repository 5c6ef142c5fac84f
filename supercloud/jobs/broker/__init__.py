"""The broker: one optional process beside the same store. It places the jobs that were submitted to a fleet.

``decide`` makes decisions (pure), ``room`` tracks free capacity, ``turns`` the fair-share order, ``ledger`` records
each step before it is taken, ``serve`` is the loop. If it is killed, the next broker continues; two at a time do no
harm.
"""
