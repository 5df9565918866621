package prompt

import (
	"fmt"
	"strconv"
	"strings"
)

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// spans lists things by their numbers, in ascending order.
func spans(thing string, all []int) string {
	var parts []string
	for i := 0; i < len(all); {
		j := i
		for j+1 < len(all) && all[j+1] == all[j]+1 {
			j++
		}
		switch j - i {
		case 0:
			parts = append(parts, fmt.Sprint(all[i]))
		case 1:
			parts = append(parts, fmt.Sprint(all[i]), fmt.Sprint(all[j]))
		default:
			parts = append(parts, fmt.Sprintf("%d to %d", all[i], all[j]))
		}
		i = j + 1
	}
	last := len(parts) - 1
	switch {
	case len(all) == 1:
		return thing + " " + parts[0]
	case last == 0:
		return thing + "s " + parts[0]
	}
	return thing + "s " + strings.Join(parts[:last], ", ") + " and " + parts[last]
}
