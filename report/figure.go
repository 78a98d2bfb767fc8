package report

import (
	"fmt"

	"tare/analysis"
	"tare/wording"
)

// Figure draws the run's headline overheads as a picture that stands on its own
// as a file: with title, legend, its own styles, and a ground for light and dark
// surroundings.
func Figure(r *analysis.Run) string {
	s := arrange(r)
	f := s.plant(s.ratioGroups(), forestWide)
	const pad, head = 18, 62
	inner := f.h
	outer := drawing{w: f.w + 2*pad, h: inner + head + 2*pad - 8}
	name := plain(s.plan.Name)
	outer.startSized("Overheads measured by the experiment " + name)
	outer.WriteString("<style>\n" + pictureCSS + "</style>\n")
	outer.rect(0, 0, outer.w, outer.h, "paper")
	outer.fitted(pad, pad+16, "heading", figureTitle(s), f.w, 17)
	outer.fitted(pad, pad+36, "muted", figureNote(s), f.w, 12)
	f.grow(0)
	outer.WriteString(fmt.Sprintf(`<g transform="translate(%d %d)">`+"\n", pad, pad+head-8))
	outer.WriteString(f.String())
	outer.WriteString("</g>\n")
	outer.end()
	return outer.String()
}

// figureTitle is what the run was asked.
func figureTitle(s *sheet) string {
	if d := plain(s.plan.Description); d != "" {
		return d
	}
	if n := plain(s.plan.Name); n != "" {
		return n
	}
	return "Overheads"
}

// figureNote says how the numbers came about.
func figureNote(s *sheet) string {
	if s.imported() {
		text := fmt.Sprintf("Observational: overhead relative to %s, %s intervals; %s", s.baseline, wording.Share(float64(s.plan.Confidence)), brief(s.run.Observational))
		if !s.run.Valid {
			text += "; invalid run, no verdicts"
		}
		return text
	}
	text := fmt.Sprintf("Overhead relative to %s: %s in random order, %s intervals",
		s.baseline, wording.Count(s.run.Rounds, "round", "rounds"), wording.Share(float64(s.plan.Confidence)))
	if !s.run.Valid {
		text += "; invalid run, no verdicts"
	}
	return text
}
