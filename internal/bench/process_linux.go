package bench

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// resetPeak forgets the peak memory of this process so far.
func resetPeak() {
	const peakOnly = "5"
	_ = os.WriteFile("/proc/self/clear_refs", []byte(peakOnly), 0) // where that is forbidden the peak is that of the whole process
}

// memory returns the memory of this process, and its peak.
func memory() (rss, peak int64) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, maxRSS()
	}
	return kibibytes(string(status), "VmRSS:"), kibibytes(string(status), "VmHWM:")
}

// kibibytes reads a line such as "VmRSS: 1234 kB".
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

// rssUnit is the unit of memory in getrusage.
const rssUnit = 1 << 10

// usageOf returns what another process has used; zero if it has ended.
func usageOf(pid int) usage {
	dir := "/proc/" + strconv.Itoa(pid)
	stat, _ := os.ReadFile(dir + "/stat") // a file that cannot be read counts as empty
	status, _ := os.ReadFile(dir + "/status")
	return usage{ticks(string(stat)), kibibytes(string(status), "VmRSS:"), kibibytes(string(status), "VmHWM:")}
}

// tick is the unit of processor times in /proc, whatever the kernel counts by.
const tick = 10 * time.Millisecond

// ticks reads the processor time from a line such as "7 (carillon) S 1 ...", in which user and system are the 14th and the 15th
// field. The name in parentheses may have spaces.
func ticks(stat string) time.Duration {
	const user, system = 11, 12 // behind the name
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) <= system {
		return 0
	}
	u, err1 := strconv.ParseInt(fields[user], 10, 64)
	s, err2 := strconv.ParseInt(fields[system], 10, 64)
	if err1 != nil || err2 != nil {
		return 0
	}
	return time.Duration(u+s) * tick
}
