package factor

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"
)

type shout string

func (s shout) MarshalText() ([]byte, error) { return []byte(s + "!"), nil }

func TestText(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{{1500, "1500"}, {shout("a"), "a!"}, {"b", "b"}, {true, "true"}, {2 * time.Second, "2s"}} {
		if got := Text(c.value); got != c.want {
			t.Errorf("%v is shown as %s, want %s", c.value, got, c.want)
		}
	}
}

func TestJSON(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{{Of(1), "1"}, {Of(1, 2), "[1,2]"}, {Of[shout]("a"), `"a!"`}, {Levels[int](nil), "null"}} {
		got, err := json.Marshal(c.value)
		if err != nil || string(got) != c.want {
			t.Errorf("%v is written %s (%v), want %s", c.value, got, err, c.want)
		}
	}
}

func TestIs(t *testing.T) {
	for v, want := range map[any]bool{&[]int{}: false, &Levels[int]{}: true, &Levels[shout]{}: true, new(int): false} {
		if got := Is(reflect.TypeOf(v).Elem()); got != want {
			t.Errorf("Is(%T) is %v", v, got)
		}
	}
}

func TestOne(t *testing.T) {
	if got := Of("a").One(); got != "a" {
		t.Errorf("One is %q", got)
	}
	for _, l := range []Levels[int]{nil, Of(1, 2)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("One on %d levels does not panic", len(l))
				}
			}()
			l.One()
		}()
	}
	if got := fmt.Sprint(Level{Factor: "mtu", Value: "1500"}); got != "mtu=1500" {
		t.Errorf("a level is shown as %s", got)
	}
}
