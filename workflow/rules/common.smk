from tramontane.campaign import rules as campaign

files = campaign.Rules()


wildcard_constraints:
    scale=campaign.SCALE,
    experiment=campaign.EXPERIMENT,
    sheet=campaign.SHEET,
    study=campaign.STUDY,
    batch=campaign.BATCH,
