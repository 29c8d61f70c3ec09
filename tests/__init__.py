"""The tests of Discreet, a package so that suites share their support modules by plain imports (`tests.support.x`)."""
