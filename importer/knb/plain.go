package knb

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"

	"tare/toolformat/jsondoc"
)

// knb prints its JSON piece by piece. What it has no value for it leaves out after
// the colon, and where only the idle test was run, a comma is too many.
var (
	noValue   = regexp.MustCompile(`(":[ \t]*)(,|\r?\n)`)
	lastComma = regexp.MustCompile(`,(\s*\})`)
)

// readJSON reads the result, in JSON as it should be or as knb writes it.
func readJSON(text []byte) (*report, error) {
	r, err := decode(text)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		mended := noValue.ReplaceAll(text, []byte(`${1}null${2}`))
		if again, errAgain := decode(lastComma.ReplaceAll(mended, []byte(`$1`))); errAgain == nil {
			return again, nil
		}
	}
	if err != nil {
		return nil, jsondoc.Explain(err)
	}
	return r, nil
}

// decode reads the first document of the text; messages may follow it.
func decode(text []byte) (*report, error) {
	var r report
	return &r, json.NewDecoder(bytes.NewReader(text)).Decode(&r)
}
