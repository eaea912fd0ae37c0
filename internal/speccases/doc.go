// Package speccases reads test cases of specs: one JSON object per line, in the form of specproc/testdata/vectors. The form is
// neutral, so that cases can come from other schedulers: durations may begin with days, lists may be longer than a schedule
// accepts, and values may be outside its limits. The package does not validate specs.
//
// The package imports schedule and internal/apitext alone, so that the tests of specproc can use it too.
package speccases
