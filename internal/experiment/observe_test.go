package experiment

import "testing"

// An observed component gets verdicts on the metrics in its field headline, which no trial may lack.
func TestObservedHeadline(t *testing.T) {
	testbed := Testbed{Kubernetes: &Kubernetes{Observe: []Observe{{Name: "istiod", Headline: []observedMetric{ofMemory}}}}}
	for _, m := range testbed.metrics(Measures{}) {
		if judged := m.Name == ObservedMemory("istiod"); m.Headline != judged || m.Optional == judged {
			t.Errorf("%s: headline %v, optional %v", m.Name, m.Headline, m.Optional)
		}
	}
}
