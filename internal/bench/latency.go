package bench

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range and the precision of a histogram: from a microsecond to a day, to three digits.
const (
	histogramMax    = int64(24 * time.Hour / time.Microsecond)
	histogramDigits = 3
)

// histogram collects durations. It is not safe for concurrent use.
type histogram struct{ hdr *hdrhistogram.Histogram }

func newHistogram() histogram {
	return histogram{hdrhistogram.New(1, histogramMax, histogramDigits)}
}

// add records a duration. Below zero it counts as zero, beyond a day as a day.
func (h histogram) add(d time.Duration) {
	// Within the range there is no error.
	_ = h.hdr.RecordValue(min(max(d.Microseconds(), 0), histogramMax))
}

func (h histogram) merge(other histogram) { h.hdr.Merge(other.hdr) }

// Quantiles are the quantiles of a distribution of durations, in milliseconds.
type Quantiles struct {
	P50  Milliseconds `json:"p50"`
	P90  Milliseconds `json:"p90"`
	P99  Milliseconds `json:"p99"`
	P999 Milliseconds `json:"p99_9"`
	Max  Milliseconds `json:"max"`
}

// Milliseconds is a number of milliseconds.
type Milliseconds float64

// MarshalJSON implements json.Marshaler.
func (m Milliseconds) MarshalJSON() ([]byte, error) { return number(float64(m)), nil }

// quantiles returns nil where nothing has been recorded: no figure is better than a zero that looks like one.
func (h histogram) quantiles() *Quantiles {
	if h.hdr.TotalCount() == 0 {
		return nil
	}
	at := func(percent float64) Milliseconds {
		return Milliseconds(float64(h.hdr.ValueAtPercentile(percent)) / 1000)
	}
	return &Quantiles{P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: at(100)}
}
