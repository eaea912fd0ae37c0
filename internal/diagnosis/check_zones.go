package diagnosis

import (
	"fmt"
	"slices"
	"strings"
)

// checkZones warns if processes use different time zone rules. Data of another version with the same rules makes no difference.
func checkZones(f *Facts) Check {
	const name = "time zones"
	editions := editionsOf(f)
	switch len(editions) {
	case 0:
		return ok(name, "no process says by which data it goes")
	case 1:
		return ok(name, "data %s in %s", strings.Join(editions[0].versions, ", "), processesText(len(f.Processes)))
	}
	parts := make([]string, len(editions))
	for i, e := range editions {
		parts[i] = fmt.Sprintf("%s (%s): %s", strings.Join(e.versions, ", "), e.digest, listed(e.processes))
	}
	return notOK(name, Warning, "the data of processes differs: "+strings.Join(parts, "; "),
		"give all processes the same release and --zoneinfo, and restart them: a schedule goes by the generator that has looked at it last")
}

// edition is time zone data with its own rules.
type edition struct {
	digest              string
	versions, processes []string
}

// editionsOf returns the data that processes have. The data that most of them have is first.
func editionsOf(f *Facts) []*edition {
	var all []*edition
	for i := range f.Processes {
		p := &f.Processes[i]
		at := slices.IndexFunc(all, func(e *edition) bool { return e.digest == p.ZonesDigest })
		if at < 0 {
			at = len(all)
			all = append(all, &edition{digest: p.ZonesDigest})
		}
		e := all[at]
		e.processes = append(e.processes, p.Title())
		if !slices.Contains(e.versions, p.Zones) {
			e.versions = append(e.versions, p.Zones)
		}
	}
	slices.SortStableFunc(all, func(a, b *edition) int { return len(b.processes) - len(a.processes) })
	return all
}

func processesText(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}
