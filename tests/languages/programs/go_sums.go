// SPDX-License-Identifier: GPL-3.0-or-later
// Readings of sensors, grouped in a map and summed; one kind of sensor is calibrated wrongly.
package main

import (
	"errors"
	"fmt"
	"sort"
	"strings"
)

type reading struct {
	sensor string
	value  int
}

type calibration interface {
	apply(value int) int
}

type plain struct{}

type linear struct {
	factor, offset int
}

func (plain) apply(value int) int {
	return value
}

func (l linear) apply(value int) int {
	return value*l.factor + l.offset*3 // FAULT: return value*l.factor + l.offset
}

type group struct {
	values []int
	by     calibration
}

func (g *group) add(value int) {
	g.values = append(g.values, g.by.apply(value))
}

func (g *group) sum() (total int) {
	for _, value := range g.values {
		total += value
	}
	return total
}

var errUnknown = errors.New("unknown kind")

func choose(kind string) (calibration, error) {
	switch {
	case strings.HasPrefix(kind, "t"):
		return linear{factor: 2, offset: 1}, nil
	case strings.HasPrefix(kind, "p"):
		return plain{}, nil
	}
	return nil, fmt.Errorf("%q: %w", kind, errUnknown)
}

func collect(readings []reading) (map[string]*group, []error) {
	groups := map[string]*group{}
	var failures []error
	for _, r := range readings {
		g, ok := groups[r.sensor]
		if !ok {
			by, err := choose(r.sensor)
			if err != nil {
				failures = append(failures, err)
				continue
			}
			g = &group{by: by}
			groups[r.sensor] = g
		}
		g.add(r.value)
	}
	return groups, failures
}

func main() {
	readings := []reading{{"t1", 20}, {"p1", 990}, {"t1", 22}, {"x9", 1}, {"p1", 995}}
	groups, failures := collect(readings)
	names := make([]string, 0, len(groups))
	letters := 0
	for name := range groups {
		names = append(names, name)
		letters += len(name) // UNRELATED
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Printf("%s %d\n", name, groups[name].sum())
	}
	for _, failure := range failures {
		fmt.Println(failure)
	}
	fmt.Println("letters", letters)
}
