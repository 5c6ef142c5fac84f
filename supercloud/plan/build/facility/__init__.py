"""The hall as decided: racks, power, cooling, energy. The arithmetic is in ``supercloud.facility``."""
