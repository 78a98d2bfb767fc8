package importer_test

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"tare/internal/importer"
)

func TestBound(t *testing.T) {
	for _, test := range []struct {
		text string
		max  int64
		err  string
	}{
		{"12345", 6, ""},
		{"12345", 5, ""},
		{"12345", 4, "the archive is larger than 4 bytes, the most that is read"},
		{"12345", 0, "the archive is larger than 0 bytes"},
		{"", 0, ""},
	} {
		got, err := io.ReadAll(importer.Bound(strings.NewReader(test.text), test.max, "the archive"))
		checkError(t, err, test.err)
		if want := test.text[:min(int64(len(test.text)), test.max)]; string(got) != want {
			t.Errorf("up to %d bytes of %q: %q", test.max, test.text, got)
		}
		var large *importer.TooLargeError
		if err != nil && !errors.As(err, &large) {
			t.Errorf("%v is no TooLargeError", err)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, test := range []struct {
		text string
		want float64
		err  string
	}{
		{text: "12.5", want: 12.5},
		{text: " -3e-2\t", want: -0.03},
		{text: "1e300", want: 1e300},
		{text: "", err: "a number is missing"},
		{text: " ", err: "a number is missing"},
		{text: "NaN", err: `"NaN" is not a finite number`},
		{text: "-Inf", err: "is not a finite number"},
		{text: "1e999", err: "is not a finite number"},
		{text: "0x10", err: "is not a number"},
		{text: "0x1p-2", err: "is not a number"},
		{text: "1_000", err: "is not a number"},
		{text: "1,5", err: `"1,5" is not a number`},
		{text: "12 ms", err: "is not a number"},
		{text: "\x1b[31m", err: `"\x1b[31m" is not a number`},
	} {
		got, err := importer.Number(test.text)
		checkError(t, err, test.err)
		if got != test.want || math.Signbit(got) != math.Signbit(test.want) {
			t.Errorf("%q is read as %v", test.text, got)
		}
	}
}

// checkError checks an error's text. If want is "", there must be no error.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("error %v", err)
	case want != "" && err == nil:
		t.Errorf("no error, want %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("error %q, want %q in it", err, want)
	}
}
