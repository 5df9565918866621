// U+FEFF is white space. Value.
﻿return﻿ 10;
