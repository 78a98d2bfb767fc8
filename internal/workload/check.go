package workload

import (
	"fmt"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
)

// CheckTime adds an error if d is shorter than least or longer than most.
func CheckTime(errs *experiment.FieldErrors, field string, d quantity.Duration, least, most time.Duration) {
	if d.Std() < least || d.Std() > most {
		errs.Add(field, "%v is not a time from %v to %v", d, quantity.Duration(least), quantity.Duration(most))
	}
}

// CheckNumbers adds an error for each level below 1 or above most. The noun says in the error what is counted.
func CheckNumbers(errs *experiment.FieldErrors, field string, levels []int, most int, noun string) {
	for i, n := range levels {
		if n < 1 || n > most {
			errs.Add(fmt.Sprintf("%s[%d]", field, i), "%d is not a number of %s from 1 to %d", n, noun, most)
		}
	}
}

// ReadFile reads a text file, such as the certificates to trust, into a string. The path "" leaves the string
// unchanged.
func ReadFile(read func(string) ([]byte, error), field, path string, into *string) (errs experiment.FieldErrors) {
	if path == "" {
		return nil
	}
	text, err := read(path)
	if err != nil {
		errs.Add(field, "%v", err)
	}
	*into = string(text)
	return errs
}
