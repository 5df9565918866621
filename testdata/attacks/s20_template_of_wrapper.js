// Dollar signs, backticks and backslashes survive any templating. Value.
return '${1}' + `\`` + '\\' + '$&$`$1' + "%s%d" + '{{x}}';
