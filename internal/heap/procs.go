package heap

import (
	"os"
	"runtime"
)

// enough is with how many processors Go sets one aside to mark memory. With less, each gives a part of its time, in pieces of up to
// twenty milliseconds.
const enough = 4

// withProcessors calls a function while Go has enough processors, which are threads to the system: it need not have as many.
func withProcessors(call func()) {
	before := runtime.GOMAXPROCS(0)
	if before >= enough {
		call()
		return
	}
	runtime.GOMAXPROCS(enough)
	defer restoreProcessors(before)
	call()
}

// restoreProcessors sets how many there are. If nobody else has said it, Go goes on to adapt it to what the system gives the process.
func restoreProcessors(before int) {
	if _, set := os.LookupEnv("GOMAXPROCS"); set {
		runtime.GOMAXPROCS(before)
		return
	}
	runtime.SetDefaultGOMAXPROCS()
}
