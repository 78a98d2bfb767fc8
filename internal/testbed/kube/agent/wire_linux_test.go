package agent

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFrames(t *testing.T) {
	q := request{ID: 7, Op: opStart, Program: "1", Start: &startRequest{Args: []string{"a", "b\x00\n"}, Stdout: true}}
	body := []byte("body\x00\xff")
	frame, err := encode(q, body)
	if err != nil {
		t.Fatal(err)
	}
	var got request
	gotBody, err := decode(bytes.NewReader(frame), &got, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(q, got); diff != "" || !bytes.Equal(body, gotBody) {
		t.Errorf("-want +got\n%s, body %q", diff, gotBody)
	}
	for cut := range frame {
		if _, err := decode(bytes.NewReader(frame[:cut]), &request{}, nil); err == nil {
			t.Errorf("cut after %d bytes: no error", cut)
		} else if cut > 8 && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut after %d bytes: %v", cut, err)
		}
	}
	if _, err := encode(q, make([]byte, bodyLimit+1)); err == nil || !strings.HasSuffix(err.Error(), "exceeds the agent's limits of 2097152 and 16777216") {
		t.Errorf("got %v", err)
	}
	for text, want := range map[string]string{
		"\xff\xff\xff\xff\x00\x00\x00\x00":      "not a frame of the agent's protocol: it claims 4294967295 and 0 bytes",
		"\x00\x00\x00\x02\x01\x00\x00\x01{}":    "not a frame of the agent's protocol: it claims 2 and 16777217 bytes",
		"\x00\x00\x00\x02\x00\x00\x00\x00[]":    "not a frame of the agent's protocol: json: cannot unmarshal array into Go value of type agent.request",
		"\x00\x00\x00\x00\x00\x00\x00\x00":      "not a frame of the agent's protocol: unexpected end of JSON input",
		"\x00\x00\x00\x02\x00\x00\x00\x05{}abc": "unexpected EOF",
	} {
		if _, err := decode(strings.NewReader(text), &request{}, nil); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestGreetings(t *testing.T) {
	for text, want := range map[string]string{
		greeting("v1.2"):                "1 v1.2",
		greeting(""):                    "1 unknown",
		"tare-agent/12 v3\nrest":        "12 v3",
		"tare-agent/1\n":                `this is not Tare's agent: it says "tare-agent/1"`,
		"tare-agent/x v3\n":             `this is not Tare's agent: it says "tare-agent/x v3"`,
		strings.Repeat("a", 300) + "\n": `this is not Tare's agent: it says "` + strings.Repeat("a", 200) + `"`,
		"":                              "EOF",
	} {
		number, version, err := readGreeting(bufio.NewReader(strings.NewReader(text)))
		got := strings.TrimSpace(strings.Join([]string{itoa(number), version}, " "))
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func itoa(n int) string {
	return string(bytes.TrimLeft([]byte{byte('0' + n/10%10), byte('0' + n%10)}, "0"))
}

func FuzzDecode(f *testing.F) {
	frame, _ := encode(request{ID: 1, Op: opFetch, Program: "1", Fetch: &fetchRequest{Stream: "stdout"}}, []byte("x"))
	f.Add(frame)
	f.Add([]byte("\x00\x00\x00\x02\x00\x00\x00\x05{}abc"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var q request
		body, err := decode(bytes.NewReader(data), &q, nil)
		if err != nil {
			return
		}
		again, err := encode(q, body)
		if err != nil {
			t.Fatal(err)
		}
		var q2 request
		body2, err := decode(bytes.NewReader(again), &q2, nil)
		if err != nil || !bytes.Equal(body, body2) || !cmp.Equal(q, q2) {
			t.Errorf("%v: %+v became %+v", err, q, q2)
		}
	})
}

func FuzzResponse(f *testing.F) {
	frame, _ := encode(response{ID: 1, End: &ending{Code: 1, Stdout: output{Size: 3, SHA256: "00"}}}, nil)
	f.Add(frame)
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = decode(bytes.NewReader(data), &response{}, nil) })
}

func FuzzGreeting(f *testing.F) {
	f.Add([]byte(greeting("v1")))
	f.Fuzz(func(t *testing.T, data []byte) {
		number, version, err := readGreeting(bufio.NewReader(bytes.NewReader(data)))
		if err == nil && number == protocol && (version == "" || version != plainVersion(version)) {
			t.Errorf("version %q", version)
		}
	})
}
