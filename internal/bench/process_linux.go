package bench

import (
	"os"
	"strconv"
	"strings"
)

// resetPeak forgets the most memory this process has had so far.
func resetPeak() {
	const peakOnly = "5"
	_ = os.WriteFile("/proc/self/clear_refs", []byte(peakOnly), 0) // where that is forbidden the peak is that of the process
}

// memory returns the memory this process has, and the most it has had.
func memory() (rss, peak int64) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, maxRSS()
	}
	return kibibytes(string(status), "VmRSS:"), kibibytes(string(status), "VmHWM:")
}

// kibibytes reads a line such as "VmRSS:   1234 kB".
func kibibytes(status, name string) int64 {
	_, rest, _ := strings.Cut(status, name)
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	n, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// rssUnit is the unit of what getrusage says about memory.
const rssUnit = 1 << 10
