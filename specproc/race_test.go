//go:build race

package specproc

// raceDetector is set in builds with the race detector, which makes everything slower.
const raceDetector = true
