//go:build race

package specproc

// raceDetector says that everything is slower than it is.
const raceDetector = true
