package bench

import "time"

// Without getrusage these figures are unknown.

func cpuTime() time.Duration { return 0 }

func resetPeak() {}

func memory() (rss, peak int64) { return 0, 0 }

func usageOf(int) usage { return usage{} }
