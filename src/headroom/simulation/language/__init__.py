"""The modelling language: stations, pools, programs and job classes."""
