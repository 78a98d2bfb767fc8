package importer

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

var digits = regexp.MustCompile(`[0-9]+`)

// natural compares names by the numbers in them: run-9 comes before run-10. Names that differ only in leading
// zeros are compared byte by byte.
func natural(a, b string) int {
	return cmp.Or(strings.Compare(numbered(a), numbered(b)), strings.Compare(a, b))
}

// numbered inserts before each number in a name the count of its digits, leading zeros excluded. Byte-wise
// order then is numeric order.
func numbered(name string) string {
	return digits.ReplaceAllStringFunc(name, func(number string) string {
		number = strings.TrimLeft(number, "0")
		return fmt.Sprintf("%04d%s", len(number), number)
	})
}
