package simulation

import (
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// spans: an event about several actions that were given up counts all times between its first and its last, and no other event
// tells of any of them. had contains the fates of single actions.
func (c *checker) spans(events []*schedule.Event, times []time.Time, had map[string]bool) {
	told := map[time.Time]int{}
	for _, e := range events {
		between := 0
		for _, at := range times {
			if within(e, at) {
				told[at]++
				between++
			}
		}
		if between != e.Count {
			c.find("missed", "%d actions were given up from %s to %s, where there are %d", e.Count, e.First, e.Last, between)
		}
	}
	for _, at := range times {
		fate := fateKey(schedule.SourceAuto, at)
		if told[at] > 1 || told[at] == 1 && had[fate] {
			c.find("missed", "%s was given up together with others, and has another fate", fate)
		}
	}
}
