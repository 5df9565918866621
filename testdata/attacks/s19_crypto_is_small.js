// crypto offers random numbers and nothing that takes keys or hosts. Value.
return typeof crypto === 'undefined' ? 'undefined' : typeof crypto.subtle;
