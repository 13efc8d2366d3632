//! The simulation kernel: an event loop over stations, pools and programs.
