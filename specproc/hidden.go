package specproc

import (
	"cmp"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// stretch is the numbers from first up to, but not including, until.
type stretch struct{ first, until int64 }

// stretches are in order and do not touch each other.
type stretches []stretch

// newStretches sorts stretches and joins those that meet.
func newStretches(all []stretch) stretches {
	slices.SortFunc(all, func(a, b stretch) int { return cmp.Compare(a.first, b.first) })
	joined := all[:0]
	for _, s := range all {
		if last := len(joined) - 1; last >= 0 && s.first <= joined[last].until {
			joined[last].until = max(joined[last].until, s.until)
		} else {
			joined = append(joined, s)
		}
	}
	return slices.Clip(joined)
}

// from returns the position of the first stretch that ends after n.
func (s stretches) from(n int64) int {
	i, _ := slices.BinarySearchFunc(s, n, func(one stretch, n int64) int {
		if one.until > n {
			return 1
		}
		return -1
	})
	return i
}

// holding returns the end of the stretch that holds n, if there is one.
func (s stretches) holding(n int64) (until int64, ok bool) {
	if len(s) == 0 {
		return 0, false
	}
	if i := s.from(n); i < len(s) && s[i].first <= n {
		return s[i].until, true
	}
	return 0, false
}

// hidden is what excluded dates and blackouts exclude, whatever the clock shows.
type hidden struct {
	days    stretches // day numbers
	seconds stretches // Unix seconds
}

func newHidden(dates []schedule.DateRange, windows []schedule.Blackout) (hidden, error) {
	var days, seconds []stretch
	for _, dateRange := range dates {
		first, last, err := dateRange.Bounds()
		if err != nil {
			return hidden{}, err
		}
		days = append(days, stretch{dayNumber(first), dayNumber(last) + 1})
	}
	for _, window := range windows {
		seconds = append(seconds, stretch{roundUp(window.From), roundUp(window.To)})
	}
	return hidden{days: newStretches(days), seconds: newStretches(seconds)}, nil
}

func dayNumber(date time.Time) int64 { return floorDiv(date.Unix(), daySeconds) }

// roundUp returns the first whole second that is not before t.
func roundUp(t time.Time) int64 {
	seconds := unixSeconds(t)
	if t.Nanosecond() > 0 {
		seconds++
	}
	return seconds
}

// until returns the end of the stretch that hides t, which lies in p, or t if none does. It does not look beyond the segment of
// p, because the next segment may have another day.
func (h *hidden) until(p *piece, t int64) int64 {
	if until, ok := h.seconds.holding(t); ok {
		return until
	}
	if day, ok := h.days.holding(p.day); ok {
		return min(day*daySeconds-p.offset, p.segment.until)
	}
	return t
}

// erase removes from set what is hidden of the day of p.
func (h *hidden) erase(set *daySet, p *piece) {
	if _, ok := h.days.holding(p.day); ok {
		clear(set[:])
		return
	}
	begin := p.at(0)
	end := begin + daySeconds
	for i := h.seconds.from(begin); i < len(h.seconds) && h.seconds[i].first < end; i++ {
		set.erase(int(max(h.seconds[i].first, begin)-begin), int(min(h.seconds[i].until, end)-begin))
	}
}
