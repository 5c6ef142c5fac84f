"""The broker: one optional process that uses the same store. It places the jobs that were submitted to a fleet.

``decide`` makes decisions (pure), ``capacity`` tracks free nodes, ``fair_share`` the order of the jobs, ``ledger``
records each step before it is taken. ``serve`` runs a cycle: ``polling`` asks the engines, ``readiness`` selects the
jobs that may start, ``submitting`` and ``recalls`` act, ``adoption`` takes over jobs that a restored store has
forgotten. If the broker is killed, the next one continues; two at a time do no harm.
"""
