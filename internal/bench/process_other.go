//go:build unix && !linux

package bench

// resetPeak does nothing: here the peak is that of the whole process.
func resetPeak() {}

// memory returns the most memory this process has had; what it has is not known.
func memory() (rss, peak int64) { return 0, maxRSS() }

// rssUnit is the unit of what getrusage says about memory.
const rssUnit = 1

// usageOf is not known here.
func usageOf(int) usage { return usage{} }
