# Nested quantifiers: 2^60 ways to fail. Ends at the time limit, or there are no regular expressions.
import re
return re.match('^(a+)+$', 'a' * 60 + '!') is None
