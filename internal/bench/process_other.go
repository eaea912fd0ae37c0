//go:build unix && !linux

package bench

// resetPeak does nothing: here the peak is that of the whole process.
func resetPeak() {}

// memory returns the peak memory of this process; its present memory is unknown.
func memory() (rss, peak int64) { return 0, maxRSS() }

// rssUnit is the unit of memory in getrusage.
const rssUnit = 1

// usageOf is not known here.
func usageOf(int) usage { return usage{} }
