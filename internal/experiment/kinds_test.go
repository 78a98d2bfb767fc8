package experiment_test

import (
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
)

// kinds is a small catalog that replaces the real one. It contains every form that a config can have.
func kinds() experiment.Kinds {
	return experiment.Kinds{
		Layers: map[string]func() experiment.LayerConfig{
			"wireguard": func() experiment.LayerConfig { return &wireguard{Implementation: "auto"} },
			"seccomp":   func() experiment.LayerConfig { return &seccomp{Rules: factor.Of(1), Action: "log"} },
			"env":       func() experiment.LayerConfig { return &env{} },
		},
		Workloads: map[string]func() experiment.WorkloadConfig{
			"network": func() experiment.WorkloadConfig {
				return &network{
					Protocols: factor.Of[protocol]("tcp"), Paths: factor.Of[path]("pod-to-pod"), Streams: factor.Of(1),
					Duration: quantity.Duration(3 * time.Second),
				}
			},
			"command": func() experiment.WorkloadConfig { return &command{} },
		},
	}
}

type implementation string

func (implementation) Values() []string { return []string{"auto", "kernel", "userspace"} }

type wireguard struct {
	Implementation implementation `yaml:"implementation" doc:"which WireGuard carries the packets"`
}

func (*wireguard) Declare() experiment.Declaration {
	return experiment.Declaration{Needs: experiment.Needs{Network: true}}
}

type seccomp struct {
	Rules  factor.Levels[int] `yaml:"rules" min:"1" doc:"number of filters"`
	Action string             `yaml:"action" enum:"log,errno" doc:"what a match does"`
}

func (*seccomp) Declare() experiment.Declaration { return experiment.Declaration{} }

type env struct {
	Set map[string]string `yaml:"set" required:"true" doc:"variables to set"`
}

func (*env) Declare() experiment.Declaration { return experiment.Declaration{} }

type protocol string

func (protocol) Values() []string { return []string{"tcp", "udp"} }

type path string

func (path) Values() []string { return []string{"pod-to-pod", "pod-to-service"} }

type network struct {
	Protocols factor.Levels[protocol] `yaml:"protocols" factor:"protocol" doc:"transport protocols"`
	Paths     factor.Levels[path]     `yaml:"paths" factor:"path" doc:"ways to the server"`
	Streams   factor.Levels[int]      `yaml:"streams" min:"1" max:"128" doc:"parallel streams"`
	Duration  quantity.Duration       `yaml:"duration" doc:"time that is measured"`
	Reverse   bool                    `yaml:"reverse" doc:"whether the server sends"`
}

func (*network) Declare() experiment.Declaration {
	return experiment.Declaration{Needs: experiment.Needs{Network: true}}
}

func (n *network) Measures() experiment.Measures {
	return experiment.Measures{Expected: n.Duration.Std() + time.Second, Metrics: []experiment.Metric{{
		Name: string(n.Protocols.One()) + "-bandwidth", Unit: "bit/s", Better: experiment.Higher, Headline: true, Scale: experiment.Ratio,
	}}}
}

type command struct {
	Run     []string        `yaml:"run" required:"true" doc:"program and arguments"`
	Measure []commandMetric `yaml:"metrics" doc:"what is measured"`
}

type commandMetric struct {
	Name  string   `yaml:"name" required:"true" doc:"name of the metric"`
	Scale *float64 `yaml:"scale" doc:"factor"`
	Regex string   `yaml:"regex" doc:"where the value stands in the output"`
}

func (c *command) Declare() experiment.Declaration {
	return experiment.Declaration{Validate: c.validate}
}

func (*command) Measures() experiment.Measures {
	return experiment.Measures{Expected: time.Second, Slice: &experiment.Slice{Expected: time.Second}, Metrics: []experiment.Metric{
		{Name: "wall", Unit: "s", Better: experiment.Lower, Headline: true, Scale: experiment.Ratio},
		{Name: "faults", Better: experiment.Lower, Scale: experiment.Difference},
	}}
}

func (c *command) validate() []experiment.FieldError {
	var errs []experiment.FieldError
	if len(c.Run) == 0 {
		errs = append(errs, experiment.FieldError{Field: "run", Message: "run is empty; expected a program"})
	}
	for i, m := range c.Measure {
		switch m.Regex {
		case "":
			errs = append(errs, experiment.FieldError{
				Field: "metrics[" + string(rune('0'+i%10)) + "].regex", Message: "the metric has no regex",
			})
		case "(":
			errs = append(errs, experiment.FieldError{
				Field: "metrics[" + string(rune('0'+i%10)) + "].regex", Message: `regex "(" does not compile`,
			})
		}
	}
	return errs
}
