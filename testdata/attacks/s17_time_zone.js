// The time zone of the machine is not told: UTC. Value.
return new Date(2024, 6, 1).getTimezoneOffset();
