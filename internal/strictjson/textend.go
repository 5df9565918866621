package strictjson

// EndOfString is the offset behind the JSON string that begins at i. It is the length of a text that ends before.
func EndOfString(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}
