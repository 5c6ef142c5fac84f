"""Decisions about the hall: racks, power, cooling, energy. The arithmetic is in ``supercloud.facility``."""
